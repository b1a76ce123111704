/** Hostile values: addresses that programs read in different ways, line breaks, templates, and what the time of a page tells. */
import assert from 'node:assert/strict'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, test } from 'node:test'
import fc from 'fast-check'
import { loadConfig } from '../../packages/server/src/config/load.ts'
import { isMailAddress } from '../../packages/server/src/lib/mail-address.ts'
import { render } from '../../packages/server/src/mail/render.ts'
import { BadTemplate, readTemplate } from '../../packages/server/src/mail/template.ts'
import { loadTemplates } from '../../packages/server/src/mail/templates.ts'
import { createTransport, NotSent } from '../../packages/server/src/mail/transport.ts'
import { IS_LONG_RUN, onSqlite } from '../support/engines.ts'
import { type MailPlace, openMailPlace } from '../support/mail-place.ts'
import { startSmtpServer } from '../support/smtp-server.ts'
import { compareTimes, isTelling } from '../support/timing.ts'

const BAD_ADDRESSES = [
  '"a@b"@c.example',
  '"a b"@example.com',
  'a@b@c.example',
  'a@example.com\r\nRCPT TO:<evil@example.com>',
  'a@example.com\nBcc: evil@example.com',
  'a@example.com, evil@example.com',
  'a@example.com;evil@example.com',
  'Name <a@example.com>',
  '<a@example.com>',
  'a@[127.0.0.1]',
  'a@[evil@example.com]',
  'a@127.0.0.1',
  'a@exämple.com',
  'ä@example.com',
  'a@example.com\u0000',
  'a@example.com ',
  ' a@example.com',
  '.a@example.com',
  'a.@example.com',
  'a..b@example.com',
  'a(comment)@example.com',
  '@example.com',
  'a@',
  'a',
  '',
  'a@-example.com',
  'a@example-.com',
  'a@.com',
  'a@xn--a.com',
  'a@ab--cd.com',
  `${'a'.repeat(65)}@example.com`,
  `a@${'b'.repeat(64)}.com`,
  `a@${'b.'.repeat(130)}com`,
  '@a,@b:c@example.com',
  'a\\@b@example.com',
  'a@example.com%0d%0a',
]

test('only an ASCII dot-atom at a domain of A-labels is an address', () => {
  for (const address of BAD_ADDRESSES) assert.equal(isMailAddress(address), false, JSON.stringify(address))
  for (const address of ["o'hara+tag@mail.example.co.uk", 'a@localhost', 'a@xn--exmple-cua.com', 'A.B-c_d@EXAMPLE.com'])
    assert.equal(isMailAddress(address), true, address)
  fc.assert(
    fc.property(fc.string({ unit: 'grapheme' }), (text) => {
      if (isMailAddress(text)) assert.match(text, /^[^\s"(),:;<>@[\\\]\p{C}]+@[a-z0-9.-]+$/iu)
    }),
    { numRuns: 2_000 },
  )
})

test('the transport refuses such addresses itself, and sends to exactly one recipient', async (t) => {
  const smtp = await startSmtpServer({ tls: 'none', auth: false })
  t.after(() => smtp.close())
  const server = { host: '127.0.0.1', port: smtp.port, isTls: false, isLoopback: true, user: '' }
  const transport = createTransport(server, () => '', { name: 'Gate, "the" <x@y>', address: 'gate@example.com' })
  const message = { subject: 'S', text: 'T', html: undefined, id: 'id', language: 'en' }
  for (const to of BAD_ADDRESSES) await assert.rejects(transport.send({ ...message, to }), NotSent)
  assert.deepEqual(smtp.commands, [])
  await transport.send({ ...message, to: "o'hara@example.com" })
  assert.deepEqual(smtp.mails[0]?.to, ["o'hara@example.com"])
  assert.equal(smtp.mails[0]?.from, 'gate@example.com')
})

const HOSTILE_NAME = 'Eve\r\nBcc: evil@example.com\r\n\r\n<img src=x onerror=alert(1)>\u202e\u0000"'

test('values can neither add headers nor markup', async (t) => {
  const smtp = await startSmtpServer({ tls: 'none', auth: false })
  t.after(() => smtp.close())
  const server = { host: '127.0.0.1', port: smtp.port, isTls: false, isLoopback: true, user: '' }
  const transport = createTransport(server, () => '', { name: '', address: 'gate@example.com' })
  const template = readTemplate(
    'invitation',
    'Subject: For {{name}} of {{brand}}\n\nHello {{name}}\n{{link}}',
    '<p title="{{name}}">{{username}}</p><a href="{{link}}">x</a>',
  )
  const values = { name: HOSTILE_NAME, username: '<b>', brand: 'B\r\nX: y', link: 'https://gate.example.com/?a=1&b=2' }
  const rendered = render(template, values, 'en', { brand: 'B', colour: '#3056d3' })
  await transport.send({ to: 'a@example.com', id: 'id', language: 'en', ...rendered })
  const [mail] = smtp.mails
  assert.deepEqual(mail?.to, ['a@example.com'])
  assert.equal(mail?.headers.has('bcc'), false)
  assert.equal(mail?.headers.has('x'), false)
  assert.match(mail?.html ?? '', /title="Eve Bcc: evil@example.com &lt;img src=x onerror=alert\(1\)&gt; &quot;"/)
  assert.match(mail?.html ?? '', /&lt;b&gt;/)
  assert.match(mail?.html ?? '', /a=1&amp;b=2/)
  assert.match(mail?.text ?? '', /^Hello Eve Bcc: [^\r\n]*\r\nhttps:\/\/gate\.example\.com\/\?a=1&b=2/)
})

test('a template with another placeholder, no link, no subject or another name refuses the start', async (t) => {
  const folder = await mkdtemp(join(tmpdir(), 'mail-templates-'))
  t.after(() => rm(folder, { recursive: true }))
  const good = 'Subject: Welcome {{name}}\n\nBegin: {{link}}\n'
  const faults: readonly (readonly [file: string, text: string, message: RegExp])[] = [
    ['invitation.en.txt', `${good}{{password}}`, /contains \{\{password\}\}; known are/],
    ['verification.en.txt', good, /contains \{\{name\}\}/],
    ['invitation.en.txt', 'Subject: Welcome\n\nHello', /must contain \{\{link\}\}/],
    ['invitation.en.txt', 'Subject: {{link}}\n\n{{link}}', /subject must not contain/],
    ['invitation.en.txt', 'Welcome\n\n{{link}}', /first line must be/],
    ['invitation.en.txt', 'Subject: a\n\n{{ link }}', /contains \{\{ link \}\}/],
    ['invitation.en.txt', `${good}{{`, /written like/],
    ['invitation.en.html', '{{link}}', /needs invitation.en.txt/],
    ['welcome.en.txt', good, /not named like/],
    ['invitation.txt', good, /not named like/],
    ['invitation.en.txt', 'Subject: \xff', /first line must be/],
  ]
  for (const [file, text, message] of faults) {
    await writeFile(join(folder, file), text)
    assert.throws(
      () => loadTemplates(folder),
      (error: Error) => error instanceof BadTemplate && message.test(error.message),
      file,
    )
    await rm(join(folder, file))
  }
  await writeFile(join(folder, 'invitation.fr.txt'), 'Subject: Bienvenue\n\n{{link}}')
  const templates = loadTemplates(folder)
  assert.equal(templates.find('invitation', ['fr']).language, 'fr')
  assert.equal(templates.find('reset', ['fr', 'de']).language, 'de')
  assert.equal(templates.find('reset', ['fr']).language, 'en')
})

test('settings of mail that cannot be used are refused, and say why', () => {
  const url = { '--mail-url': 'smtps://mail.example.com', '--mail-from': 'gate@example.com' }
  const faults: readonly (readonly [flags: Record<string, string>, message: RegExp])[] = [
    [{ '--mail-url': 'smtps://mail.example.com' }, /MAIL_FROM must be set/],
    [{ ...url, '--mail-url': 'http://mail.example.com' }, /must look like smtps/],
    [{ ...url, '--mail-url': 'smtps://gate:secret@mail.example.com' }, /must not contain a password/],
    [{ ...url, '--mail-url': 'smtps://mail.example.com/?tls=no' }, /nothing may follow/],
    [{ ...url, '--mail-url': 'smtps://gate@mail.example.com' }, /MAIL_PASSWORD must be set/],
    [{ ...url, '--mail-password': 'secret' }, /MAIL_PASSWORD needs the user/],
    [{ ...url, '--mail-from': 'Gate <"a@b"@example.com>' }, /must look like/],
    [{ ...url, '--mail-from': 'Gate\r\nBcc: x <gate@example.com>' }, /without quotes/],
    [{ ...url, '--mail-rate': '0' }, /from 1/],
  ]
  for (const [flags, message] of faults)
    assert.throws(
      () => loadConfig({ flags, environment: {} }),
      (error: Error) => message.test(error.message) && !/secret@/.test(error.message),
      JSON.stringify(flags),
    )
  assert.equal(loadConfig({ flags: url, environment: {} }).config.mailUrl?.port, 465)
})

const PAIRS = IS_LONG_RUN ? 200 : 25

onSqlite('the page for forgotten passwords', (at) => {
  let place: MailPlace
  before(async () => {
    place = await openMailPlace(at(), { flags: { '--mail-rate': '100000' } })
  })
  after(() => place.close())

  test('takes as long for a user who exists as for one who does not', async (t) => {
    const agent = place.newAgent()
    const form = (await place.open(agent, '/forgot-password')).forms[0]
    assert.ok(form !== undefined)
    const token = form.fields.find(({ name }) => name === 'form_token')?.value ?? ''
    let network = 0
    const ask = async (username: string) => {
      const response = await fetch(`${place.server.issuer}/forgot-password`, {
        method: 'POST',
        headers: {
          cookie: agent.jar.header(form.action) ?? '',
          'x-forwarded-for': `10.${++network >> 16}.${(network >> 8) & 255}.${network & 255}`,
        },
        body: new URLSearchParams({ form_token: token, username }),
      })
      assert.equal(response.status, 200)
      await response.text()
    }
    const seen = await compareTimes(
      () => ask('alice'),
      (index) => ask(`nobody-${index}`),
      PAIRS,
    )
    t.diagnostic(JSON.stringify(seen))
    assert.ok(!isTelling(seen, 0.15), JSON.stringify(seen))
    await place.settled(2 * PAIRS * 100)
  })
})
