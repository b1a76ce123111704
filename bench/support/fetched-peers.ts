/** Peers that are large or no npm packages: fetched once into bench/.peers, by npm, Maven or Go. What cannot be fetched is left out. */
import { spawnSync } from 'node:child_process'
import { existsSync, mkdirSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { gitRevision, readReleases } from '../../scripts/release/releases.ts'
import { type Checkout, HERE } from './checkout.ts'
import { benchPath } from './program.ts'

const FOLDER = benchPath('.peers')
const QUESTDB = '9.1.0'
const NATS = 'v2.10.24'
const CENTRIFUGO = 'v5.4.9'
const DUCKDB = '1.5.6-r.1'

/** QuestDB's jar, which contains the server. */
export function questdbJar(): string | undefined {
  return fetched('QuestDB', `questdb-${QUESTDB}.jar`, () => {
    const artifact = `-Dartifact=org.questdb:questdb:${QUESTDB}:jar`
    run('mvn', ['-q', 'dependency:copy', artifact, `-DoutputDirectory=${FOLDER}`, '-Dmdep.useBaseVersion=true'])
  })
}

/** The folder with DuckDB's package. */
export function duckdbFolder(): string | undefined {
  return fetched('DuckDB', `duckdb-${DUCKDB}`, (target) => {
    mkdirSync(target)
    run('npm', ['install', '--prefix', target, '--no-save', '--loglevel=error', `@duckdb/node-api@${DUCKDB}`])
  })
}

/** A clone with the last release, its packages and its bundles. Undefined also in a clone without its commit. */
export async function lastRelease(): Promise<Checkout | undefined> {
  const release = (await readReleases(HERE.root)).at(-1)
  if (release === undefined) return undefined
  const name = `gatehouse-${release.version}`
  const root = fetched(`The release ${release.version}`, name, (target) => {
    run('git', ['clone', '--quiet', '--no-checkout', HERE.root, target])
    run('git', ['-C', target, 'checkout', '--quiet', gitRevision(release)])
    run(process.execPath, [join(target, 'scripts', 'setup.js')])
  })
  return root === undefined ? undefined : { name, root }
}

/** The program of NATS. */
export function natsServer(): string | undefined {
  return fetched('NATS', 'nats-server', () =>
    run('go', ['install', `github.com/nats-io/nats-server/v2@${NATS}`], { GOBIN: FOLDER }),
  )
}

/** The program of Centrifugo. Built in the folder of its module, because `go install` asks for a list of versions, which proxies may refuse. */
export function centrifugoServer(): string | undefined {
  return fetched('Centrifugo', `centrifugo-${CENTRIFUGO}`, (target) => {
    const module = run('go', ['mod', 'download', '-json', `github.com/centrifugal/centrifugo/v5@${CENTRIFUGO}`])
    run('go', ['build', '-C', JSON.parse(module).Dir, '-o', target, '.'])
  })
}

/** What the name stands for in bench/.peers; undefined, with a line that says so, if it cannot be fetched. */
function fetched(peer: string, name: string, fetch: (target: string) => void): string | undefined {
  const target = join(FOLDER, name)
  if (existsSync(target)) return target
  mkdirSync(FOLDER, { recursive: true })
  try {
    fetch(target)
    return target
  } catch (error) {
    rmSync(target, { recursive: true, force: true })
    process.stderr.write(`${peer} is left out: ${error instanceof Error ? error.message : error}\n`)
    return undefined
  }
}

function run(program: string, args: readonly string[], environment: NodeJS.ProcessEnv = {}): string {
  const { status, error, stderr, stdout } = spawnSync(program, args, {
    cwd: FOLDER,
    env: { ...process.env, ...environment },
    encoding: 'utf8',
  })
  if (error !== undefined) throw new Error(`${program} cannot be run`)
  if (status !== 0) throw new Error(`${program} failed: ${`${stderr}${stdout}`.trim().split('\n')[0]}`)
  return stdout
}
