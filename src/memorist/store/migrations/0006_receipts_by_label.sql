-- The newest receipts of one kind of work, asked before each run.
create index receipts_by_label on receipts (label, number);
