/** npm as a user of this machine runs it, and the packages that it makes of this repository and of earlier releases. */
import { execFile } from 'node:child_process'
import { mkdir, mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { delimiter, dirname, join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { promisify } from 'node:util'
import { root } from './clone.ts'

const run = promisify(execFile)
const CACHE = join(root, 'node_modules', '.cache', 'gatehouse')
const PUBLISHED = ['--workspace', 'gatehouse-server', '--workspace', 'gatehouse-client']

/** Without what `npm test` adds, among it the Node of this repository. */
export const environment = Object.fromEntries(
  Object.entries(process.env).filter(
    ([name]) => !/^(?:npm_(?!config_(?:registry|cache|userconfig)$)|NODE_(?!EXTRA_CA_CERTS$)|GATEHOUSE_)/.test(name),
  ),
)
environment.PATH = (process.env.PATH ?? '')
  .split(delimiter)
  .filter((place) => !place.includes('node_modules'))
  .join(delimiter)

export async function npm(words: readonly string[], cwd: string): Promise<string> {
  return (await run('npm', words, { cwd, env: environment, maxBuffer: 1 << 24 })).stdout
}

/** Packs both packages of the working tree into a folder. Returns the files. */
export async function packWorkingTree(folder: string): Promise<readonly string[]> {
  await mkdir(folder, { recursive: true })
  await whileNothingIsPacked(() => npm(['pack', ...PUBLISHED, '--pack-destination', folder], root))
  return listFiles(folder)
}

/** Packing puts files beside the sources for a while. */
export function whileNothingIsPacked<Result>(act: () => Promise<Result>): Promise<Result> {
  return exclusively(join(CACHE, 'packing'), act)
}

/** Packs both packages of a commit, from its own files alone. They are kept for the next run. Returns the files. */
export async function packCommit(commit: string): Promise<readonly string[]> {
  const kept = join(CACHE, 'releases', commit)
  if ((await listFiles(kept)).length === PUBLISHED.length / 2) return listFiles(kept)
  const folder = await mkdtemp(join(tmpdir(), 'gatehouse-commit-'))
  try {
    await run('git', ['archive', '--output', join(folder, 'commit.tar'), commit], { cwd: root })
    await run('tar', ['-xf', 'commit.tar'], { cwd: folder })
    await npm(['ci', '--ignore-scripts', '--prefer-offline'], folder)
    const packed = join(folder, 'packed')
    await mkdir(packed)
    await npm(['pack', ...PUBLISHED, '--pack-destination', packed], folder)
    await mkdir(kept, { recursive: true })
    for (const file of await listFiles(packed)) await run('cp', [file, kept])
  } finally {
    await rm(folder, { recursive: true, force: true })
  }
  return listFiles(kept)
}

/** Installs packages as `npm install --global` does, into a prefix. Returns the folder of the server. */
export async function installGlobally(files: readonly string[], prefix: string): Promise<string> {
  await mkdir(prefix, { recursive: true })
  await npm(['install', '--global', '--prefix', prefix, '--prefer-offline', '--no-audit', ...files], prefix)
  return join(prefix, 'lib', 'node_modules', 'gatehouse-server')
}

async function listFiles(folder: string): Promise<string[]> {
  const names = await readdir(folder).catch(() => [])
  return names.map((name) => join(folder, name))
}

/** Among all processes that test this clone. */
async function exclusively<Result>(lock: string, act: () => Promise<Result>): Promise<Result> {
  await mkdir(dirname(lock), { recursive: true })
  while (!(await take(lock))) await sleep(200)
  try {
    return await act()
  } finally {
    await rm(lock, { force: true })
  }
}

/** The file has the id of the process that holds the lock; one that was killed leaves it behind. */
async function take(lock: string): Promise<boolean> {
  try {
    await writeFile(lock, String(process.pid), { flag: 'wx' })
    return true
  } catch {
    const holder = Number(await readFile(lock, 'utf8').catch(() => ''))
    if (holder > 0 && !isRunning(holder)) await rm(lock, { force: true })
    return false
  }
}

function isRunning(pid: number): boolean {
  try {
    process.kill(pid, 0)
    return true
  } catch {
    return false
  }
}
