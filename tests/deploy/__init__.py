"""The files of deploy/ and the pages of docs/, held against the programs that read them."""
