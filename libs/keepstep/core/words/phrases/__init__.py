"""The sentences, one table for each room that says them: English with its holes, and the same in Chinese."""
