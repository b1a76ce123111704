/** Programs of another release of Debian, fetched by apt with a configuration of its own and unpacked: nothing is installed. */
import { existsSync } from 'node:fs'
import { glob, mkdir, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { runCommand } from './command.ts'

const MIRROR = 'http://deb.debian.org/debian'
const KEYRING = '/usr/share/keyrings/debian-archive-keyring.gpg'
const SECONDS = 600
const DONE = 'unpacked'

/** Returns the reason why they cannot be had. */
export async function fetchDebian(
  suite: string,
  packages: readonly string[],
  root: string,
): Promise<string | undefined> {
  if (existsSync(join(root, DONE))) return undefined
  if (!existsSync(KEYRING))
    return `needs apt and ${KEYRING}, as Debian has them, to fetch ${packages.join(', ')} of ${suite}`
  const apt = join(root, 'apt')
  await rm(root, { recursive: true, force: true })
  for (const folder of ['lists/partial', 'cache', 'archives/partial'])
    await mkdir(join(apt, folder), { recursive: true })
  await writeFile(join(apt, 'sources.list'), `deb [signed-by=${KEYRING}] ${MIRROR} ${suite} main\n`)
  await writeFile(join(apt, 'status'), '')
  const options = [
    `Dir::Etc::SourceList=${join(apt, 'sources.list')}`,
    'Dir::Etc::SourceParts=/dev/null',
    `Dir::State::Lists=${join(apt, 'lists')}`,
    `Dir::State::Status=${join(apt, 'status')}`,
    `Dir::Cache=${join(apt, 'cache')}`,
    `Dir::Cache::Archives=${join(apt, 'archives')}`,
    'APT::Sandbox::User=root',
    'Debug::NoLocking=1',
  ].flatMap((option) => ['-o', option])
  const download = ['install', '--yes', '--quiet', '--no-install-recommends', '--download-only', ...packages]
  for (const words of [['update', '--quiet'], download]) {
    const { status, output } = await runCommand(['apt-get', ...options, ...words], { seconds: SECONDS })
    if (status !== 0) return `apt-get cannot fetch ${packages.join(', ')} of ${suite}: ${output.slice(-300)}`
  }
  for await (const file of glob(join(apt, 'archives/*.deb'))) {
    const { status, output } = await runCommand(['dpkg', '-x', file, root], { seconds: SECONDS })
    if (status !== 0) return `dpkg cannot unpack ${file}: ${output.slice(-300)}`
  }
  await rm(apt, { recursive: true, force: true })
  await writeFile(join(root, DONE), '')
  return undefined
}

/** The command with the loader and the libraries of its own release. */
export function debianCommand(root: string, program: string): string[] {
  const libraries = join(root, 'usr/lib', process.arch === 'arm64' ? 'aarch64-linux-gnu' : 'x86_64-linux-gnu')
  const loader = process.arch === 'arm64' ? 'ld-linux-aarch64.so.1' : 'ld-linux-x86-64.so.2'
  return [join(libraries, loader), '--library-path', libraries, join(root, program)]
}
