"""keepstep at the size of a big cluster: who runs where, the cluster, the stack on it, and what each process takes."""
