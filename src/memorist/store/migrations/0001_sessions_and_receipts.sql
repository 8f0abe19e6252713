create table sessions (
  id text primary key,
  project text not null,
  folder text not null,
  format text not null,
  created real not null,
  updated real not null
);

create table receipts (
  number integer primary key,
  session text not null,
  label text not null,
  why text not null,
  model text not null,
  started real not null,
  seconds real not null,
  requests integer not null,
  turns integer not null,
  input integer not null,
  cache_read integer not null,
  cache_write integer not null,
  output integer not null,
  cost_usd real,
  files text not null,
  denied text not null,
  outcome text not null,
  said text not null
);

create index receipts_by_session on receipts (session, number);
