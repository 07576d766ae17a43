"""What builds kpolicy and checks a change quickly; nothing here is shipped."""
