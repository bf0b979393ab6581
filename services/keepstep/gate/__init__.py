"""The gate of the bus on Kubernetes: hears the bus ask who a pod's agent is, and says what it may do.

It decides by the token that the kubelet gave the pod (the API server reviews it), the right of the pod's namespace to
join the pool, and the binding that says which task the pod is. It says nothing in any stream and keeps no state.
"""
