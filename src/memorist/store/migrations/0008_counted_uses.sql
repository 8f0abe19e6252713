-- What the uses of a folder's memories are counted by: a session lists two hundred, and uses few.
create index counted_uses on memory_uses (folder, path, what, at)
where what in ('read', 'cited', 'shown');
