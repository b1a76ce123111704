/** A folder that looks like a fresh clone of this repository, and a shell in it, for tests of what the pages tell readers. */
import { type ChildProcess, spawn } from 'node:child_process'
import { chmod, mkdir, mkdtemp, readdir, readFile, rm, symlink, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { delimiter, dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'

export const root = fileURLToPath(new URL('../../', import.meta.url))

export interface CloneOptions {
  /** A folder whose files are copied, through `change`; all others are links. */
  readonly copy?: string | undefined
  readonly change?: ((text: string) => string) | undefined
  readonly environment?: Readonly<Record<string, string>> | undefined
}

export interface Clone {
  readonly folder: string
  /** Starts commands in a shell that remembers the folder and the variables of those before. */
  launch(commands: string): Launched
  remove(): Promise<void>
}

export interface Launched {
  readonly child: ChildProcess
  /** Resolves with the exit status; null if a signal ended it. */
  readonly ended: Promise<number | null>
  output(): string
}

export async function makeClone({ copy, change = (text) => text, environment = {} }: CloneOptions): Promise<Clone> {
  const own = await mkdtemp(join(tmpdir(), 'gatehouse-clone-'))
  const folder = join(own, 'gatehouse')
  await link('', copy?.split('/') ?? [])
  const variables = { ...(await makeEnvironment(own)), ...environment }
  return {
    folder,
    launch: (commands) => launch({ own, folder, environment: variables }, commands),
    remove: () => rm(own, { recursive: true, force: true, maxRetries: 5, retryDelay: 200 }),
  }

  /** Links the entries of a folder of the repository, except for the one on the way to what is copied. */
  async function link(path: string, [next, ...rest]: readonly string[]): Promise<void> {
    await mkdir(join(folder, path))
    for (const entry of await readdir(join(root, path))) {
      const to = join(path, entry)
      if (entry === next) await (rest.length === 0 ? copyFolder(to) : link(to, rest))
      else if (!['.git', 'data'].includes(to)) await symlink(join(root, to), join(folder, to))
    }
  }

  async function copyFolder(path: string): Promise<void> {
    await mkdir(join(folder, path))
    for (const entry of await readdir(join(root, path), { withFileTypes: true })) {
      const to = join(path, entry.name)
      // Packages that were installed there: the tests use those of the repository.
      if (entry.name === 'node_modules') continue
      if (entry.isDirectory()) await copyFolder(to)
      else await writeFile(join(folder, to), change(await readFile(join(root, to), 'utf8')))
    }
  }
}

/** `npm start --prefix FOLDER` starts a sample with the packages of this repository, and installs none. Logins are kept apart. */
async function makeEnvironment(own: string): Promise<Record<string, string>> {
  const programs = join(own, 'bin')
  await mkdir(programs)
  await writeProgram(
    join(programs, 'npm'),
    `[ "$1 $2" = "start --prefix" ] || { echo "npm $* is not for tests" >&2; exit 1; }
cd "$3"
PATH='${join(root, 'node_modules/.bin')}:'"$PATH"
eval "exec $(node -p 'JSON.parse(fs.readFileSync("package.json", "utf8")).scripts.start')"`,
  )
  const inherited = Object.entries(process.env).filter(([name]) => !name.startsWith('GATEHOUSE_'))
  return {
    ...(Object.fromEntries(inherited) as Record<string, string>),
    PATH: [programs, dirname(process.execPath), process.env.PATH ?? ''].join(delimiter),
    HOME: own,
    XDG_CONFIG_HOME: join(own, '.config'),
  }
}

async function writeProgram(file: string, script: string): Promise<void> {
  await writeFile(file, `#!/bin/sh\n${script}\n`)
  await chmod(file, 0o755)
}

interface Shell {
  readonly own: string
  readonly folder: string
  readonly environment: Readonly<Record<string, string>>
}

function launch({ own, folder, environment }: Shell, commands: string): Launched {
  const [variables, place] = [join(own, 'variables'), join(own, 'place')]
  // One pipe for both streams, so that the output is in the order in which it was written.
  const script = `exec 2>&1
set -ae
[ ! -f '${variables}' ] || . '${variables}'
[ ! -f '${place}' ] || cd "$(cat '${place}')"
trap 'status=$?; export -p > "${variables}"; pwd > "${place}"; exit $status' EXIT
${commands}`
  // A separate process group, so that a whole pipeline can be ended.
  const child = spawn('sh', ['-c', script], { cwd: folder, env: environment, detached: true })
  let output = ''
  for (const stream of [child.stdout, child.stderr])
    stream.setEncoding('utf8').on('data', (chunk: string) => {
      output += chunk
    })
  const ended = new Promise<number | null>((resolve, reject) => {
    child.once('error', reject)
    child.once('close', resolve)
  })
  return { child, ended, output: () => output }
}
