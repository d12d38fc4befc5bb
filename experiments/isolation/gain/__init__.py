"""Would isolation pay on a user's own log and machine?"""
