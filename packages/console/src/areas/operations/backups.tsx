/** The backups and restores that the audit log knows of. */

import { read } from '../../admin/requests.ts'
import { server } from '../../server.ts'
import { Await, Badge, bytes, Code, count, Empty, Notice, Section, Table, Time, useLoad } from '../../ui/index.ts'
import { word } from '../../ui/word.ts'
import { OLDEST_BACKUP_MS } from './problems.ts'
import type { BackupItem } from './replies.ts'

const KINDS: Readonly<Record<BackupItem['kind'], string>> = { taken: word('taken'), restored: word('restored') }

export function Backups() {
  const loaded = useLoad((signal) => read<{ items: readonly BackupItem[] }>('/admin/backups?limit=100', signal), [])
  return (
    <Section
      title="Backups"
      about={
        <>
          As recorded in the audit log.{' '}
          <a href={`${server.base}/docs/backup`} target="_blank" rel="noreferrer">
            How to back up and restore
          </a>
        </>
      }
    >
      <Await of={loaded} title="The backups could not be listed">
        {({ items }) => {
          const last = items.find(({ kind }) => kind === 'taken')
          return (
            <div class="operations-list">
              {last !== undefined && Date.now() - Date.parse(last.at) > OLDEST_BACKUP_MS && (
                <Notice kind="warning">
                  The last backup was taken <Time at={last.at} as="relative" />: there should be one every day. See why
                  the regular one did not run.
                </Notice>
              )}
              {last === undefined && items.length > 0 && (
                <Notice kind="warning">
                  There is no backup. If the disk fails, everything is lost: users, keys and tables.
                </Notice>
              )}
              {items.length === 0 ? (
                <Empty icon="save" title="No backups yet">
                  <p>If the disk fails, everything is lost: users, keys and tables.</p>
                  <p>Run this on the machine that holds the data; the server can keep running:</p>
                  <Code label="Command" text="gatehouse backup /var/backups/gatehouse/$(date +%F)" />
                </Empty>
              ) : (
                <Table
                  label="Backups"
                  rows={items}
                  rowKey={({ at, kind }) => `${at} ${kind}`}
                  columns={[
                    { title: 'When', cell: ({ at }) => <Time at={at} /> },
                    {
                      title: 'What',
                      cell: ({ kind }) => <Badge kind={kind === 'taken' ? 'good' : 'accent'}>{KINDS[kind]}</Badge>,
                    },
                    { title: 'Rows', kind: 'number', cell: ({ rows }) => (rows === undefined ? '–' : count(rows)) },
                    {
                      title: 'Size',
                      kind: 'number',
                      cell: ({ bytes: size }) => (size === undefined ? '–' : bytes(size)),
                    },
                    { title: 'Backup of', cell: ({ taken }) => <Time at={taken} />, wide: true },
                    { title: 'Node', cell: ({ node }) => node, wide: true },
                  ]}
                />
              )}
            </div>
          )
        }}
      </Await>
    </Section>
  )
}
