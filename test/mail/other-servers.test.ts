/** aiosmtpd and Postfix: TLS, AUTH, 4yz, 5yz, a node that is killed; and nothing for a server without STARTTLS. Needs PyPI, root, Debian. */
import assert from 'node:assert/strict'
import { mkdir } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, test } from 'node:test'
import SqliteDatabase from 'better-sqlite3'
import { createTransport, NotSent } from '../../packages/server/src/mail/transport.ts'
import { trustedCertificate, writeCertificate } from '../support/certificate.ts'
import { openPlace } from '../support/engines.ts'
import {
  findAiosmtpd,
  missingForPostfix,
  type OtherMailServer,
  startAiosmtpd,
  startPostfix,
} from '../support/mail-servers.ts'
import { runGatehouse, serveProcess } from '../support/process.ts'
import { MAIL_PASSWORD, MAIL_USER } from '../support/smtp-server.ts'
import { until } from '../support/until.ts'

const aiosmtpd = await findAiosmtpd()
const noPostfix = missingForPostfix()

describe('aiosmtpd', { skip: typeof aiosmtpd === 'string' ? aiosmtpd : false }, () => {
  const python = typeof aiosmtpd === 'string' ? '' : aiosmtpd.python
  test('takes mails over TLS with AUTH; none is lost', () =>
    scenario((folder) => startAiosmtpd(python, folder), /TLS: true, user: gate/))

  test('without STARTTLS gets nothing', async (t) => {
    const { place, leave } = await openPlace('sqlite')
    const server = await startAiosmtpd(python, place.dataFolder, false)
    t.after(async () => {
      await server.close()
      await leave()
    })
    const to = { host: '127.0.0.1', port: server.port, isTls: false, isLoopback: false, user: MAIL_USER }
    const transport = createTransport(to, () => MAIL_PASSWORD, { name: '', address: 'gate@example.com' })
    const message = { to: 'a@example.com', subject: 'S', text: 'T', html: undefined, id: 'id', language: 'en' }
    await assert.rejects(transport.send(message), NotSent)
    assert.deepEqual(await server.received(), [])
  })
})

describe('Postfix', { skip: noPostfix ?? false }, () => {
  test('takes mails over TLS with AUTH; none is lost', () => scenario(startPostfix, /with ESMTPSA/))
})

/** Four people are invited: one at once, one whom the server defers, one whom it refuses, one whose node is killed meanwhile. */
async function scenario(start: (folder: string) => Promise<OtherMailServer>, proof: RegExp): Promise<void> {
  const { place, leave } = await openPlace('sqlite')
  const folder = join(place.dataFolder, 'mail-server')
  await mkdir(folder)
  const server = await start(folder)
  const { certFile } = await writeCertificate(trustedCertificate(), folder)
  const settings = [
    ...['--data', join(place.dataFolder, 'data'), '--mail-url', `smtp://${MAIL_USER}@127.0.0.1:${server.port}`],
    ...['--mail-from', 'Gate <gate@example.com>', '--mail-password', MAIL_PASSWORD],
  ]
  const environment = { NODE_EXTRA_CA_CERTS: certFile }
  const gatehouse = async (...words: string[]) => {
    const { status, stdout, stderr } = await runGatehouse([...words, ...settings], { environment })
    assert.equal(status, 0, stdout + stderr)
    return stdout
  }
  let node = await serveProcess(settings, { environment })
  try {
    const invite = (name: string) => gatehouse('user', 'invite', name, '--email', `${name}@example.com`, '--send')
    const readState = async (name: string) =>
      new RegExp(`(\\w+) +${name}@example\\.com`).exec(await gatehouse('mail', 'list'))?.[1]
    const addresses = async () => (await server.received()).map(({ to }) => to).sort()
    assert.match(await gatehouse('doctor'), /can be used \[mail\]/)
    await server.defer(['later@example.com', 'killed@example.com'])
    for (const name of ['now', 'later', 'refused', 'killed']) await invite(name)
    await until('the first arrives', 5_000, async () => (await addresses()).length === 1)
    assert.match((await server.received())[0]?.text ?? '', proof)
    await until('the third is given up', 5_000, async () => (await readState('refused')) === 'failed')
    assert.equal(await readState('later'), 'waiting')
    node.child.kill('SIGKILL')
    await node.ended
    await server.defer([])
    // As if the time had passed.
    const file = new SqliteDatabase(join(place.dataFolder, 'data', 'identity.db'))
    file.exec("update mail_queue set next_at = 0, leased_until = 0 where state = 'waiting'")
    file.close()
    node = await serveProcess(settings, { environment })
    await until('all arrive', 8_000, async () => (await addresses()).length === 3)
    assert.deepEqual(await addresses(), ['killed@example.com', 'later@example.com', 'now@example.com'])
  } finally {
    await node.stop()
    await server.close()
    await leave()
  }
}
