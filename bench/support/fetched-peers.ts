/** Peers that are large or no npm packages: fetched once into bench/.peers, by npm, Maven or Go. What cannot be fetched is left out. */
import { spawnSync } from 'node:child_process'
import { existsSync, mkdirSync, renameSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { benchPath } from './program.ts'

const FOLDER = benchPath('.peers')
const KEYCLOAK = '26.0.7'
const QUESTDB = '9.1.0'
const NATS = 'v2.10.24'
const CENTRIFUGO = 'v5.4.9'
const DUCKDB = '1.5.6-r.1'

/** The folder of Keycloak's distribution, prepared for a production start with its embedded database. */
export function keycloakFolder(): string | undefined {
  return fetched('Keycloak', `keycloak-${KEYCLOAK}`, (target) => {
    copyArtifact(`org.keycloak:keycloak-quarkus-dist:${KEYCLOAK}:zip`)
    const unpacked = join(FOLDER, 'unpacking')
    mkdirSync(unpacked, { recursive: true })
    run('jar', ['xf', join(FOLDER, `keycloak-quarkus-dist-${KEYCLOAK}.zip`)], unpacked)
    const folder = join(unpacked, `keycloak-${KEYCLOAK}`)
    run('sh', [join(folder, 'bin/kc.sh'), 'build', '--db=dev-file', '--health-enabled=true'])
    renameSync(folder, target)
  })
}

/** QuestDB's jar, which contains the server. */
export function questdbJar(): string | undefined {
  return fetched('QuestDB', `questdb-${QUESTDB}.jar`, () => copyArtifact(`org.questdb:questdb:${QUESTDB}:jar`))
}

/** The folder with DuckDB's package. */
export function duckdbFolder(): string | undefined {
  return fetched('DuckDB', `duckdb-${DUCKDB}`, (target) => {
    mkdirSync(target)
    run('npm', ['install', '--prefix', target, '--no-save', '--loglevel=error', `@duckdb/node-api@${DUCKDB}`])
  })
}

/** The program of NATS. */
export function natsServer(): string | undefined {
  return fetched('NATS', 'nats-server', () =>
    run('go', ['install', `github.com/nats-io/nats-server/v2@${NATS}`], FOLDER, { GOBIN: FOLDER }),
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

function copyArtifact(artifact: string): void {
  const args = ['-q', 'dependency:copy', `-Dartifact=${artifact}`, `-DoutputDirectory=${FOLDER}`]
  run('mvn', [...args, '-Dmdep.useBaseVersion=true'], FOLDER)
}

function run(program: string, args: readonly string[], cwd = FOLDER, environment: NodeJS.ProcessEnv = {}): string {
  const { status, error, stderr, stdout } = spawnSync(program, args, {
    cwd,
    env: { ...process.env, ...environment },
    encoding: 'utf8',
  })
  if (error !== undefined) throw new Error(`${program} cannot be run`)
  if (status !== 0) throw new Error(`${program} failed: ${`${stderr}${stdout}`.trim().split('\n')[0]}`)
  return stdout
}
