"""One file per outside world; nothing else imports its client library."""
