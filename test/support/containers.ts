/** Runs containers with podman in a store of their own, as restricted as Kubernetes would run them. */
import { execFile, spawnSync } from 'node:child_process'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'

const run = promisify(execFile)

/** No rights, a root file system that cannot be written, and limits that a process without rights may set. */
const RESTRICTED = [
  ...['--read-only', '--read-only-tmpfs=false', '--tmpfs', '/tmp', '--cap-drop', 'all'],
  ...['--security-opt', 'no-new-privileges', '--ulimit', 'nofile=4096:4096', '--ulimit', 'nproc=4096:4096'],
  ...['--network', 'host'],
]

export interface Containers {
  podman(...args: string[]): Promise<string>
  /** Starts a container and leaves it running. */
  start(name: string, options: readonly string[], image: string, ...args: string[]): Promise<void>
  close(): Promise<void>
}

export async function openContainers(): Promise<Containers> {
  const folder = await mkdtemp(join(tmpdir(), 'gatehouse-containers-'))
  const own = ['--storage-driver', 'vfs', '--root', join(folder, 'store'), '--runroot', join(folder, 'run')]
  // crun does not start where the machine has both versions of cgroups.
  const runtime = spawnSync('runc', ['--version']).error === undefined ? ['--runtime', 'runc'] : []
  const podman = async (...args: string[]) =>
    (await run('podman', [...own, ...runtime, '--cgroup-manager', 'cgroupfs', ...args])).stdout.trim()
  return {
    podman,
    async start(name, options, image, ...args) {
      await podman('run', '--detach', '--name', name, ...RESTRICTED, ...options, image, ...args)
    },
    async close() {
      await podman('rm', '--all', '--force', '--time', '0').catch(() => {})
      await rm(folder, { recursive: true, force: true })
    },
  }
}
