"""The study of the communication hook: what it costs beyond selecting and sending, and what is sent during backward."""
