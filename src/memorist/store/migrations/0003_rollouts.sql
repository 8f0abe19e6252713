create table threads (
  id text primary key,
  path text not null,
  format text not null,
  size bigint not null,
  modified_ns bigint not null,
  updated bigint not null,
  cwd text not null,
  repository text not null,
  branch text not null,
  source text not null,
  first_words text not null,
  mode text not null
);

create index threads_by_updated on threads (updated, id);

create table extracts (
  thread text primary key,
  updated bigint not null,
  raw_memory text not null,
  rollout_summary text not null,
  slug text not null,
  way text not null,
  generated bigint not null,
  path text not null,
  cwd text not null,
  repository text not null,
  branch text not null,
  problem text not null,
  outside integer not null,
  uses bigint not null default 0,
  last_use bigint,
  selected integer not null default 0,
  selected_updated bigint
);

create table jobs (
  kind text not null,
  key text not null,
  status text not null,
  watermark bigint not null,
  retries_left integer not null,
  attempts integer not null default 0,
  worker text,
  token text,
  started bigint,
  lease_until bigint,
  finished bigint,
  succeeded bigint,
  last_success bigint,
  retry_at bigint,
  last_error text,
  primary key (kind, key)
);

create index jobs_running on jobs (kind, key) where status = 'running';

create table failures (
  kind text not null,
  key text not null,
  at bigint not null,
  attempt integer not null,
  watermark bigint not null,
  worker text not null,
  reason text not null
);

create index failures_by_key on failures (kind, key, at);

create table remarks (
  at bigint not null,
  text text not null
)
