create table memory_uses (
  number integer primary key,
  folder text not null,
  path text not null,
  what text not null,
  session text not null,
  message text not null,
  at real not null,
  why text not null,
  score real,
  bytes integer not null
);

create index memory_uses_by_path on memory_uses (folder, path, number);
