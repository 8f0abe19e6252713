alter table receipts add column sent text not null default '[]';
