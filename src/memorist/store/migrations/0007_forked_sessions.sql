alter table extracts add column forked_from text not null default ''
