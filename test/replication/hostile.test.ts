/** A restore notices whatever was done to the objects, and leaves nothing behind. */
import assert from 'node:assert/strict'
import { copyFile, cp, mkdir, mkdtemp, readdir, readFile, rename, rm, truncate, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { basename, join } from 'node:path'
import { after, before, describe, test } from 'node:test'
import Sqlite from 'better-sqlite3'
import { restoreMoment } from '../../packages/server/src/replication/restore/restore.ts'
import { FolderTarget } from '../../packages/server/src/replication/target/folder.ts'
import { runGatehouse } from '../support/process.ts'
import { startTestServer } from '../support/server.ts'
import { addToBackup, REFUSING_RECORD, STORED_KEY, storeBackup } from '../support/stored-backup.ts'

const KEY = STORED_KEY
let scratch: string
let source: string
let generation: string
before(async () => {
  scratch = await mkdtemp(join(tmpdir(), 'gatehouse-hostile-'))
  ;({ source, generation } = await storeBackup(scratch))
})
after(() => rm(scratch, { recursive: true, force: true }))

let count = 0
/** Changes a copy of the target, and restores from it. */
async function restoreChanged(change: (folder: string) => Promise<unknown>, key = KEY): Promise<string> {
  const copy = join(scratch, `changed-${++count}`)
  await cp(source, copy, { recursive: true })
  await change(join(copy, generation))
  const dataFolder = join(scratch, `restored-${count}`)
  await restoreMoment({ target: new FolderTarget(copy), key, dataFolder })
  return dataFolder
}

async function refuses(change: (folder: string) => Promise<unknown>, message: RegExp, key = KEY): Promise<void> {
  await assert.rejects(restoreChanged(change, key), message)
  assert.deepEqual(await readdir(join(scratch, `restored-${count}`)).catch(() => []), [])
}

async function segments(folder: string): Promise<string[]> {
  const names = (await readdir(join(folder, 'segments', '0'))).sort()
  return names.map((name) => join(folder, 'segments', '0', name))
}

async function baseFiles(folder: string): Promise<{ manifest: string; part: string; folder: string }> {
  const [name = ''] = await readdir(join(folder, 'bases'))
  const base = join(folder, 'bases', name)
  return { folder: base, manifest: join(base, 'manifest'), part: join(base, '00000000') }
}

describe('objects', () => {
  test('as they were stored are restored, and a server starts on them', async () => {
    const dataFolder = await restoreChanged(async () => {})
    const entries = await readdir(dataFolder)
    for (const name of ['gatehouse.json', 'identity.db', 'query.db', 'master.key'])
      assert.ok(entries.includes(name), name)
    const server = await startTestServer({ engine: 'sqlite', dataFolder, databaseUrl: '' }, { isFirstStart: true })
    assert.equal((await fetch(`${server.issuer}/readyz`)).status, 200)
    await server.stop()
  })

  test('a segment that is missing in the middle', () =>
    refuses(async (folder) => rm((await segments(folder)).at(-2) ?? ''), /The segment \d+ is missing/))

  test('a segment that is cut off', () =>
    refuses(
      async (folder) => truncate((await segments(folder)).at(-1) ?? '', 100),
      /was changed, or sealed with another/,
    ))

  test('a segment with another bit', () =>
    refuses(async (folder) => {
      const file = (await segments(folder)).at(-1) ?? ''
      const bytes = await readFile(file)
      bytes[60] = (bytes[60] ?? 0) ^ 1
      await writeFile(file, bytes)
    }, /was changed, or sealed with another/))

  test('two segments that are swapped', () =>
    refuses(async (folder) => {
      const [one = '', other = ''] = (await segments(folder)).slice(-2)
      const bytes = await readFile(one)
      await copyFile(other, one)
      await writeFile(other, bytes)
    }, /was changed, or sealed with another/))

  test('a part of a base that is missing, or another', async () => {
    await refuses(async (folder) => rm((await baseFiles(folder)).part), /is missing/)
    await refuses(async (folder) => {
      const { manifest, part } = await baseFiles(folder)
      await copyFile(manifest, part)
    }, /is not what its base lists/)
  })

  test('a manifest that is damaged, and no manifest', async () => {
    await refuses(async (folder) => writeFile((await baseFiles(folder)).manifest, 'x'), /is not an object of a backup/)
    await refuses(async (folder) => rm((await baseFiles(folder)).manifest), /No base is complete/)
  })

  test('objects of another generation', async () => {
    await refuses(async (folder) => {
      await cp(folder, `${folder.slice(0, -2)}zz`, { recursive: true })
    }, /was changed, or sealed with another/)
  })

  test('an object that is larger than any of a backup', async () => {
    await refuses(
      async (folder) => truncate((await segments(folder)).at(-1) ?? '', 2 ** 27),
      /is larger than any object/,
    )
    await refuses(async (folder) => truncate((await baseFiles(folder)).part, 2 ** 32), /is larger than any object/)
  })

  test('an object without content, and a folder in its place', async () => {
    await refuses(async (folder) => truncate((await segments(folder)).at(-2) ?? '', 0), /is not an object of a backup/)
    await refuses(async (folder) => {
      const file = (await segments(folder)).at(-2) ?? ''
      await rm(file)
      await mkdir(file)
    }, /The segment \d+ is missing/)
  })

  test('what the same data folder stored under the same name at another time', async () => {
    // Two servers go on from copies of a data folder and of what it has sent.
    const [dataFolder, copy] = [join(scratch, 'one'), join(scratch, 'other')]
    const [target, kept] = [join(scratch, 'shared'), join(scratch, 'kept')]
    await addToBackup(target, dataFolder)
    await Promise.all([cp(dataFolder, copy, { recursive: true }), cp(target, kept, { recursive: true })])
    const name = await addToBackup(target, dataFolder)
    const first = join(scratch, 'first')
    await rename(target, first)
    await rename(kept, target)
    const before = (await segments(join(target, name))).length
    await addToBackup(target, copy)
    const [ours, theirs] = [await segments(join(first, name)), await segments(join(target, name))]
    const other = theirs[before + 1] ?? ''
    await copyFile(other, ours[before + 1] ?? '')
    assert.equal(basename(other), basename(ours[before + 1] ?? ''))
    const request = { target: new FolderTarget(first), key: KEY, dataFolder: join(scratch, 'mixed') }
    await assert.rejects(restoreMoment(request), /does not follow the segment|is not the one that the base ended with/)
    assert.deepEqual(await readdir(join(scratch, 'mixed')).catch(() => []), [])
  })

  test('another key', () =>
    refuses(async () => {}, /was changed, or sealed with another backup_key/, Buffer.alloc(32, 1)))

  test('files and folders of something else are left alone', async () => {
    await restoreChanged(async (folder) => {
      await writeFile(join(folder, '..', 'notes.txt'), 'x')
      await writeFile(join(folder, 'segments', '0', 'notes.txt'), 'x')
      await cp(folder, join(folder, '..', 'copy'), { recursive: true })
    })
  })
})

describe('gatehouse restore', () => {
  const run = (words: readonly string[], key = KEY) =>
    runGatehouse(['restore', `file://${source}`, ...words, '--backup-key', key.toString('base64')])

  test('--list, --at, and what is wrong with both', async () => {
    const listed = await run(['--list', '--json'])
    assert.equal(listed.status, 0, listed.stderr)
    const [{ from, to }] = JSON.parse(listed.stdout)
    assert.match((await run(['--list'])).stdout, new RegExp(generation))
    const folder = join(scratch, 'by-command')
    const at = await run(['--at', from, '--data', folder, '--json'])
    assert.equal(at.status, 0, at.stderr)
    const restored = JSON.parse(at.stdout)
    assert.equal(restored.taken, from)
    assert.ok(restored.rows > 0)
    const again = await run(['--data', folder])
    assert.equal(again.status, 1)
    assert.match(again.stderr, /is not empty/)
    const nowhere = join(scratch, 'nowhere')
    for (const [words, message] of [
      [['--at', '2001-01-01T00:00:00Z'], /There is nothing of 2001.*goes from/],
      [['--at', new Date(Date.parse(to) + 60_000).toISOString()], /There is nothing of/],
      [['--at', 'yesterday'], /--at takes a time with its zone/],
      [['--generation', 'another'], /no generation another/],
    ] as const) {
      const refused = await run([...words, '--data', nowhere])
      assert.notEqual(refused.status, 0)
      assert.match(refused.stderr, message)
      assert.deepEqual(await readdir(nowhere).catch(() => []), [])
    }
    const wrong = await run(['--data', nowhere], Buffer.alloc(32, 1))
    assert.equal(wrong.status, 1)
    assert.match(wrong.stderr, /another backup_key/)
  })

  test('without a key, and of a folder that holds no backup', async () => {
    const noKey = await runGatehouse(['restore', `file://${source}`])
    assert.match(noKey.stderr, /GATEHOUSE_BACKUP_KEY/)
    const empty = await runGatehouse([
      'restore',
      `file://${join(scratch, 'empty')}`,
      '--backup-key',
      KEY.toString('base64'),
    ])
    assert.match(empty.stderr, /There is no backup at/)
  })
})

test('a restore that the audit log cannot record says so, and leaves nothing', async () => {
  const [target, dataFolder] = [join(scratch, 'unrecorded'), await mkdtemp(join(scratch, 'data-'))]
  await addToBackup(target, dataFolder)
  const database = new Sqlite(join(dataFolder, 'identity.db'))
  database.exec(REFUSING_RECORD)
  database.close()
  await addToBackup(target, dataFolder)
  const restored = join(scratch, 'unrecorded-restored')
  const words = ['--data', restored, '--backup-key', KEY.toString('base64')]
  const { status, stdout, stderr } = await runGatehouse(['restore', `file://${target}`, ...words])
  assert.equal(status, 1, stderr)
  assert.match(stderr, /there is no room/)
  assert.equal(stdout, '')
  assert.deepEqual(await readdir(restored), [])
})
