"""Admission: hears that a labelled job is to be created and answers the API server as ``injection.review`` decides.

The one service that says nothing on the bus: what it decides is in the job that is stored, or in the refusal.
"""
