"""The pages, asked in this process over a pool that is told in the test."""
