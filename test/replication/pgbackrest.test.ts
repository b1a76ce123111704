/** The recipe of docs/replication.md for a server on PostgreSQL that is to lose less than a day: pgBackRest, a recovery, and a start of the node on what was recovered. */
import assert from 'node:assert/strict'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import { IN_LONG_RUNS } from '../support/engines.ts'
import { findPgBackRest, startArchivedPostgres } from '../support/pgbackrest.ts'
import { runGatehouse } from '../support/process.ts'
import { startTestServer } from '../support/server.ts'
import { until } from '../support/until.ts'
import { findVersitygw } from '../support/versitygw.ts'

test(
  'a database that archives its log is recovered as of a time, and the node starts on it',
  IN_LONG_RUNS,
  async (t) => {
    const [pgBackRest, versitygw] = [await findPgBackRest(), await findVersitygw()]
    if (typeof pgBackRest === 'string') return t.skip(pgBackRest)
    if (typeof versitygw === 'string') return t.skip(versitygw)
    const postgres = await startArchivedPostgres(pgBackRest.folder, versitygw.program)
    t.after(() => postgres.close())
    const scratch = await mkdtemp(join(tmpdir(), 'gatehouse-recovered-'))
    t.after(() => rm(scratch, { recursive: true, force: true }))
    const dataFolder = join(scratch, 'data')
    const place = { engine: 'postgres', dataFolder, databaseUrl: postgres.url } as const
    const flags = {
      '--backup-url': `file://${join(scratch, 'dumps')}`,
      '--backup-key': Buffer.alloc(32, 9).toString('base64'),
    }
    const where = ['--data', dataFolder, '--database-url', postgres.url]
    const archiving = async (): Promise<readonly string[]> => {
      const words = Object.entries(flags).flat()
      const { findings } = JSON.parse((await runGatehouse(['doctor', '--json', ...where, ...words])).stdout)
      return findings.map(({ code }: { code: string }) => code).filter((code: string) => code.includes('archive'))
    }
    const addRole = (name: string) =>
      postgres.query(
        `insert into gatehouse.roles (name, scopes, description, require_second_factor) values ('${name}', '[]', '', 0)`,
      )
    const [archiveMode = '', archiveCommand = ''] = postgres.blocks.get('postgresql.conf') ?? []

    await postgres.start()
    const server = await startTestServer(place, { flags, isFirstStart: true })
    assert.deepEqual(await archiving(), ['database.not_archived'], 'archive_mode is off')
    await server.stop()
    await postgres.configure(archiveMode)
    await postgres.stop()
    await postgres.start()
    assert.deepEqual(await archiving(), ['database.not_archived'], 'archive_command is empty')
    await postgres.configure(archiveCommand)
    await postgres.query('select pg_reload_conf()')
    await postgres.query('select pg_switch_wal()')
    await until(
      'archiving fails, without a stanza',
      60_000,
      async () => (await archiving())[0] === 'database.archive_fails',
    )
    await postgres.backRest('--stanza=gatehouse', 'stanza-create')
    await until('archiving succeeds', 120_000, async () => (await archiving()).length === 0)
    await postgres.backRest('--stanza=gatehouse', 'backup')

    const node = await startTestServer(place, { flags })
    await addRole('before')
    const [row] = await postgres.query("select pg_sleep(1), to_char(now(), 'YYYY-MM-DD HH24:MI:SS.USOF') as at")
    await addRole('after')
    await postgres.query('create table archived as select pg_switch_wal()')
    await until('the log is archived', 60_000, async () => {
      const [state] = await postgres.query(
        'select last_archived_wal >= pg_walfile_name(pg_current_wal_lsn()) as done, pg_switch_wal() from pg_stat_archiver',
      )
      return (
        state?.done === true ||
        (await postgres.query('select 1 from pg_stat_archiver where archived_count > 4')).length > 0
      )
    })
    await node.stop()
    await postgres.stop()
    await postgres.lose()

    const target = `--target=${String(row?.at)}`
    await postgres.backRest('--stanza=gatehouse', '--type=time', target, '--target-action=promote', 'restore')
    await postgres.start()
    const again = await startTestServer(place, { flags })
    const roles = await postgres.query("select name from gatehouse.roles where name in ('before', 'after')")
    assert.deepEqual(
      roles.map(({ name }) => name),
      ['before'],
    )
    await again.stop()
  },
)
