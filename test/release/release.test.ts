/** `npm run release`: on a copy of the files that contain the version, in a Git repository of its own. */
import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { cp, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, test } from 'node:test'
import { promisify } from 'node:util'
import { VERSION } from 'gatehouse-protocol'
import { MIGRATIONS } from '../../packages/server/src/store/database/migrations.ts'
import { releaseChangelog } from '../../scripts/release/changelog.ts'
import { type ReleaseOptions, release } from '../../scripts/release/release.ts'
import { readReleases } from '../../scripts/release/releases.ts'
import { compareVersions, parseVersion } from '../../scripts/release/version.ts'
import { versionsIn } from '../../scripts/release/version-places.ts'
import { root } from '../support/clone.ts'

const run = promisify(execFile)

test('every place that contains the version has the same', async () => {
  const found = await versionsIn(root)
  assert.deepEqual(
    found.filter(({ version }) => version !== VERSION),
    [],
  )
  const files = new Set(found.map(({ file }) => file))
  for (const file of [
    ...['package.json', 'package-lock.json', 'packages/server/package.json', 'packages/client/package.json'],
    ...['packages/protocol/src/version.ts', 'charts/gatehouse/Chart.yaml', 'docs/client.md', 'docs/install.md'],
    'clients/python/src/gatehouse_client/version.py',
  ])
    assert.ok(files.has(file), `${file} does not contain the version, or not as expected`)
})

test('versions are ordered, and a candidate is older than its release', () => {
  const versions = ['1.10.0', '1.0.0', '1.0.0-rc.10', '1.0.0-rc.9', '2.0.0-rc.1', '1.9.12', '1.9.2']
  assert.deepEqual(versions.toSorted(compareVersions), [
    ...['1.0.0-rc.9', '1.0.0-rc.10', '1.0.0', '1.9.2', '1.9.12', '1.10.0', '2.0.0-rc.1'],
  ])
  for (const text of ['1.0', 'v1.0.0', '1.0.0-beta', '1.0.0 ', ''])
    assert.throws(() => parseVersion(text), /is not a version/)
})

const UNRELEASED = '# Changelog\n\n## Unreleased\n\n### For operators\n\n- New.\n\n## 1.0.0 - 2026-11-17\n\nOld.\n'

test('the unreleased changes become those of the release', () => {
  const released = releaseChangelog(UNRELEASED, '1.1.0', '2027-01-02')
  assert.equal(released, UNRELEASED.replace('Unreleased', '1.1.0 - 2027-01-02'))
  assert.throws(() => releaseChangelog(released, '1.2.0', '2027-01-03'), /no section "## Unreleased"/)
  assert.throws(() => releaseChangelog(UNRELEASED, '1.0.0', '2027-01-03'), /merge them/)
  assert.throws(() => releaseChangelog('## Unreleased\n\n- x\n', '1.1.0', '2027-01-03'), /none of the parts/)
})

describe('a release', () => {
  let copy: string
  let options: ReleaseOptions
  const git = async (...words: string[]) => (await run('git', words, { cwd: copy })).stdout.trim()

  beforeEach(async () => {
    copy = await mkdtemp(join(tmpdir(), 'gatehouse-release-'))
    const files = new Set((await versionsIn(root)).map(({ file }) => file))
    for (const file of [...files, 'scripts/release/releases.json']) await cp(join(root, file), join(copy, file))
    await writeFile(join(copy, 'CHANGELOG.md'), UNRELEASED)
    await git('init', '--quiet')
    await git('config', 'user.name', 'Maintainer')
    await git('config', 'user.email', 'maintainer@example.com')
    await git('add', '.')
    await git('commit', '--quiet', '--message', 'all')
    const schema = MIGRATIONS.length
    options = { root: copy, version: '9.8.0', date: '2027-01-02', schema, pack: async () => {} }
  })
  afterEach(() => rm(copy, { recursive: true, force: true }))

  test('sets every version, dates the changelog, is recorded, packed, committed and tagged', async () => {
    const packed: string[] = []
    const pack = async () => {
      packed.push(JSON.parse(await readFile(join(copy, 'packages/server/package.json'), 'utf8')).version)
    }
    const before = await versionsIn(copy)
    await release({ ...options, pack })
    assert.deepEqual(packed, ['9.8.0'])
    assert.deepEqual(
      await versionsIn(copy),
      before.map(({ file }) => ({ file, version: '9.8.0' })),
    )
    assert.match(await readFile(join(copy, 'CHANGELOG.md'), 'utf8'), /^## 9\.8\.0 - 2027-01-02$/m)
    const { date, schema } = options
    assert.deepEqual((await readReleases(copy)).at(-1), { version: '9.8.0', date, schema })
    assert.equal(await git('status', '--porcelain'), '')
    assert.equal(await git('rev-parse', 'v9.8.0^{commit}'), await git('rev-parse', 'HEAD'))
    await assert.rejects(release(options), /There is a tag v9\.8\.0/)
  })

  test('candidate leaves the changes in the changelog unreleased', async () => {
    await release({ ...options, version: '9.8.0-rc.1' })
    assert.equal(await readFile(join(copy, 'CHANGELOG.md'), 'utf8'), UNRELEASED)
    assert.equal(await git('tag', '--list'), 'v9.8.0-rc.1')
    await release(options)
    assert.match(await readFile(join(copy, 'CHANGELOG.md'), 'utf8'), /^## 9\.8\.0 - 2027-01-02$/m)
  })

  test('that cannot be packed changes nothing', async () => {
    const pack = () => Promise.reject(new Error('no space left'))
    await assert.rejects(release({ ...options, pack }), /no space left/)
    assert.equal(await git('status', '--porcelain'), '')
    assert.deepEqual([await git('tag', '--list'), await git('rev-list', '--count', 'HEAD')], ['', '1'])
  })

  test('is refused with changes in the tree, with a version that is not newer, and as a patch that migrates', async () => {
    const [last] = (await readReleases(copy)).slice(-1)
    assert.ok(last)
    await assert.rejects(release({ ...options, version: last.version }), /is not newer/)
    await assert.rejects(release({ ...options, version: '0.9.0' }), /is not newer/)
    await assert.rejects(release({ ...options, version: '9.8' }), /is not a version/)
    await assert.rejects(release({ ...options, version: '9.8.1', schema: last.schema + 1 }), /is a patch, but migrates/)
    await release({ ...options, version: '9.8.0', schema: last.schema + 1 })
    await writeFile(join(copy, 'new'), '')
    await assert.rejects(release({ ...options, version: '9.9.0' }), /has changes; commit them first/)
  })
})
