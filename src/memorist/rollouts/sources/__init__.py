"""Finding recorded sessions where agents keep them."""
