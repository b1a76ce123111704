/** The samples in other languages: what each needs, and how it is run against a demonstration server. */
import { spawn } from 'node:child_process'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'

export interface Sample {
  readonly name: string
  /** Prints the version of the toolchain. */
  readonly version: readonly string[]
  /** The oldest version that can run it. */
  readonly atLeast: readonly [major: number, minor: number]
  /** What the toolchain fetches: `npm test` runs only samples that need no download. */
  readonly downloads: string | undefined
  /** Commands before the sample itself, which fetch and build. */
  readonly prepare: readonly (readonly string[])[]
  readonly run: readonly string[]
  readonly environment?: Readonly<Record<string, string>>
  /** The last line that it prints. */
  readonly success: string
}

export interface SnippetOnly {
  readonly name: string
  readonly reason: string
}

const root = fileURLToPath(new URL('../..', import.meta.url))
const here = (path: string): string => join(root, 'examples', path)
/** Outside the samples, so that their folders hold only what is committed. */
const cache = join(root, 'node_modules', '.cache', 'examples')
const python = join(cache, 'python')

export const SAMPLES: readonly Sample[] = [
  {
    name: 'python: gatehouse.py',
    version: ['python3', '--version'],
    atLeast: [3, 9],
    downloads: undefined,
    prepare: [],
    run: ['python3', here('python/gatehouse.py')],
    success: 'python: ok',
  },
  {
    name: 'python: notebook.py',
    version: ['python3', '--version'],
    atLeast: [3, 11],
    downloads: 'packages from PyPI',
    prepare: [
      ['python3', '-m', 'venv', python],
      [
        ...[join(python, 'bin/pip'), 'install', '--quiet', '--disable-pip-version-check'],
        ...['-r', here('python/requirements.txt'), join(root, 'clients/python')],
      ],
    ],
    run: [join(python, 'bin/python'), here('python/notebook.py')],
    environment: { PYTHONDONTWRITEBYTECODE: '1' },
    success: 'notebook: ok',
  },
  {
    name: 'go',
    version: ['go', 'version'],
    atLeast: [1, 24],
    downloads: 'a Go module',
    prepare: [],
    run: ['go', 'run', '-C', here('go'), '.'],
    success: 'go: ok',
  },
  {
    name: 'java',
    // A runtime without the compiler cannot start a source file.
    version: ['javac', '-version'],
    atLeast: [17, 0],
    downloads: undefined,
    prepare: [],
    // The options halve the processor time of a program that runs for seconds; a user needs none.
    run: ['java', '-XX:TieredStopAtLevel=1', '-XX:+UseSerialGC', here('java/Market.java')],
    success: 'java: ok',
  },
  {
    name: 'rust',
    version: ['cargo', '--version'],
    atLeast: [1, 85],
    downloads: 'crates from crates.io',
    prepare: [['cargo', 'build', '--quiet', '--locked', '--manifest-path', here('rust/Cargo.toml')]],
    run: ['cargo', 'run', '--quiet', '--locked', '--manifest-path', here('rust/Cargo.toml')],
    environment: { CARGO_TARGET_DIR: join(cache, 'rust') },
    success: 'rust: ok',
  },
]

export const SNIPPETS: readonly SnippetOnly[] = [
  { name: 'csharp', reason: 'a snippet without a project, which has never been run' },
]

export type Toolchain =
  | { readonly kind: 'present'; readonly version: string }
  | { readonly kind: 'missing'; readonly reason: string }

export async function findToolchain({ version, atLeast }: Pick<Sample, 'version' | 'atLeast'>): Promise<Toolchain> {
  const [program = ''] = version
  const { status, output } = await runCommand(version, {}).catch(() => ({ status: 1, output: '' }))
  if (status !== 0) return { kind: 'missing', reason: `${program} is not installed` }
  const [text, major = '0', minor = '0'] = /(\d+)(?:\.(\d+))?[\w.]*/.exec(output) ?? []
  const isOld = Number(major) < atLeast[0] || (Number(major) === atLeast[0] && Number(minor) < atLeast[1])
  if (text === undefined || isOld)
    return { kind: 'missing', reason: `${program} ${text ?? ''} is older than ${atLeast.join('.')}` }
  return { kind: 'present', version: (output.trim().split('\n')[0] ?? '').replace(/ \(.*\)/, '') }
}

export interface CommandOptions {
  readonly cwd?: string
  readonly environment?: Readonly<Record<string, string>>
  readonly onOutput?: (text: string) => void
  readonly seconds?: number
}

/** Resolves with what the command printed, on stdout and stderr alike. */
export function runCommand(
  [program = '', ...args]: readonly string[],
  { cwd, environment = {}, onOutput = () => {}, seconds = 60 }: CommandOptions,
): Promise<{ status: number | null; output: string }> {
  return new Promise((resolve, reject) => {
    const child = spawn(program, args, {
      ...(cwd === undefined ? {} : { cwd }),
      env: { ...process.env, ...environment },
      stdio: ['ignore', 'pipe', 'pipe'],
      timeout: seconds * 1000,
    })
    let output = ''
    for (const stream of [child.stdout, child.stderr])
      stream.setEncoding('utf8').on('data', (text: string) => {
        output += text
        onOutput(text)
      })
    child.once('error', reject)
    child.once('close', (status) => resolve({ status, output }))
  })
}
