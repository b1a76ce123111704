/** Checks that the server may open enough files, since each connection is one. */
import type { Config } from '../../config/config.ts'
import { areFew, mostConnections } from '../../server/connections.ts'
import { openFilesLimit } from '../../telemetry/open-files.ts'
import { type Checked, warning } from './finding.ts'

/** A service may have another limit than the operator's shell: if servers run on this machine, their own limits count. */
export function checkOpenFiles(config: Config, running: readonly number[]): Checked {
  const limits = (running.length > 0 ? running : (['self'] as const)).map((id) => openFilesLimit(id) ?? Infinity)
  const openFiles = Math.min(...limits)
  const connections = mostConnections(config, openFiles)
  if (!areFew(connections)) return undefined
  return warning(
    'process.open_files',
    `The server can open only ${openFiles} files, which is enough for ${connections} connections`,
    'Raise the limit: LimitNOFILE= of the systemd unit, --ulimit nofile= of the container, or "ulimit -n" before the start.',
  )
}
