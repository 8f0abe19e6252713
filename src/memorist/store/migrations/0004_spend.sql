create index receipts_by_start on receipts (started);

create table spent (
  scope text not null,
  name text not null,
  label text not null,
  runs integer not null,
  requests integer not null,
  input integer not null,
  cache_read integer not null,
  cache_write integer not null,
  output integer not null,
  cost_usd real not null,
  unpriced integer not null,
  seconds real not null,
  changed integer not null,
  unchanged integer not null,
  failed integer not null,
  primary key (scope, name, label)
) without rowid;

insert into spent
select 'day', cast(cast(started / 86400 as integer) as text), label, count(*), sum(requests), sum(input), sum(cache_read), sum(cache_write),
  sum(output), sum(coalesce(cost_usd, 0)), sum(cost_usd is null), sum(seconds), sum(outcome = 'changed'), sum(outcome = 'unchanged'),
  sum(outcome not in ('changed', 'unchanged'))
from receipts where requests > 0 or outcome not in ('replaced', 'cancelled') group by 2, 3;

insert into spent
select 'session', session, label, count(*), sum(requests), sum(input), sum(cache_read), sum(cache_write),
  sum(output), sum(coalesce(cost_usd, 0)), sum(cost_usd is null), sum(seconds), sum(outcome = 'changed'), sum(outcome = 'unchanged'),
  sum(outcome not in ('changed', 'unchanged'))
from receipts where requests > 0 or outcome not in ('replaced', 'cancelled') group by 2, 3;

create table reservations (
  number integer primary key,
  session text not null,
  label text not null,
  made real not null,
  expires real not null,
  requests integer not null,
  tokens integer not null,
  cost_usd real not null,
  seconds real not null
);

create table holds (
  model text not null,
  cause text not null,
  noted real not null,
  until real not null,
  said text not null,
  primary key (model, cause)
) without rowid;

create table blocked (
  day integer not null,
  session text not null,
  label text not null,
  cause text not null,
  said text not null,
  times integer not null,
  until real,
  primary key (day, session, label, cause)
) without rowid;
