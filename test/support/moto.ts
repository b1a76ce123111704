/** moto from PyPI: a server with the API of S3 that others wrote. */
import { execFile, spawn } from 'node:child_process'
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { freePort } from './free-port.ts'
import { until } from './until.ts'

const run = promisify(execFile)
const VENV = fileURLToPath(new URL('../../node_modules/.cache/moto', import.meta.url))

/** The program; a text says what is missing. */
export async function findMoto(): Promise<{ program: string } | string> {
  const program = process.env.MOTO_SERVER ?? join(VENV, 'bin', 'moto_server')
  try {
    if (existsSync(program)) return { program }
    await run('python3', ['-m', 'venv', VENV])
    await run(join(VENV, 'bin', 'python'), ['-m', 'pip', '-q', 'install', 'moto[s3,server]'])
    return { program }
  } catch {
    return 'needs python3 with venv, and PyPI or its cache, for moto'
  }
}

/** With a bucket `backups`. */
export async function startMoto(program: string): Promise<{ readonly url: string; close(): Promise<void> }> {
  const port = await freePort()
  const child = spawn(program, ['-H', '127.0.0.1', '-p', String(port)], { stdio: 'ignore' })
  const endpoint = `http://127.0.0.1:${port}`
  await until('moto answers', 60_000, () =>
    fetch(`${endpoint}/backups`, { method: 'PUT', headers: { authorization: AUTHORIZATION } }).then(
      ({ ok }) => ok,
      () => false,
    ),
  )
  return {
    url: `s3://backups/gate?endpoint=${encodeURIComponent(endpoint)}&region=us-east-1`,
    async close() {
      const closed = new Promise<void>((resolve) => child.once('close', () => resolve()))
      child.kill('SIGKILL')
      await closed
    },
  }
}

/** It tells services apart by the scope, and does not check the signature. */
const AUTHORIZATION =
  'AWS4-HMAC-SHA256 Credential=AKTEST/20261119/us-east-1/s3/aws4_request, SignedHeaders=host, Signature=0'
