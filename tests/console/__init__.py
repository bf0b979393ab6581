"""The console: what it makes of the stream, how it answers, and what it lets people order."""
