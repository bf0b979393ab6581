"""``keepstep report``: gather what is known of a run, then write it down as one file, HTML or Markdown."""
