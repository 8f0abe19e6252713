"""The inbox: proposals that wait for the user's word."""
