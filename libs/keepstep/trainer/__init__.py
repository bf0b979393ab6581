"""What enters the training image: standard library only, Python 3.8 or later, nothing of keepstep around it."""
