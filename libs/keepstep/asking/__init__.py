"""What people ask of keepstep, held to the same checks wherever they ask it: on the command line or in the console."""
