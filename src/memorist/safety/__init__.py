"""What guards the stores and the models: secrets taken out, hidden characters and planted orders found, data kept from posing as scaffold. Pure."""
