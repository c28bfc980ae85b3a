import type { Engine, SchemaStep } from './step.ts'

const TRIGGERS: Record<Engine, string[]> = {
  sqlite: [
    `create trigger segments_counted after insert on segments begin
      update stored_segments set count = count + 1, bytes = bytes + new.length; end`,
    `create trigger segments_discounted after delete on segments begin
      update stored_segments set count = count - 1, bytes = bytes - old.length; end`,
  ],
  postgres: [
    `create function count_segment() returns trigger language plpgsql as $$ begin
      if tg_op = 'INSERT' then
        update stored_segments set count = count + 1, bytes = bytes + new.length;
      else
        update stored_segments set count = count - 1, bytes = bytes - old.length;
      end if;
      return null;
    end $$`,
    `create trigger segments_counted after insert or delete on segments
      for each row execute function count_segment()`,
  ],
}

/** How many segments there are and how long they are, kept by the database itself: adding up a million takes too long. */
export const storedSegments: SchemaStep = {
  name: 'stored segments',
  statements: (engine) => [
    'drop index segments_by_length',
    'create table stored_segments (count bigint not null, bytes bigint not null)',
    'insert into stored_segments select count(*), coalesce(sum(length), 0) from segments',
    ...TRIGGERS[engine],
  ],
}
