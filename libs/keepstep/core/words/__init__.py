"""The words that people read, in their language: one place for the console, the notifier and whoever else tells.

Decisions travel as one English sentence, which holds their facts (STYLE 3). ``book`` has a phrase for every sentence
that a service can say; a phrase is read as it is written, so that its facts are had back and are told in another
language. What no phrase fits (words of people, lines of logs, sentences of earlier versions) stays as it is.
``labels`` has the words of the closed sets and of the messages.
"""
