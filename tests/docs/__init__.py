"""The pages of docs/: what they tell one to run, what they must speak of, and the site made of them."""
