/** Delivery: what the mail server says decides; retries keep their times; nothing is said before TLS; limits by mailbox and address. */
import assert from 'node:assert/strict'
import { after, afterEach, before, test } from 'node:test'
import { createTransport, NotSent } from '../../packages/server/src/mail/transport.ts'
import { createCertificate } from '../support/certificate.ts'
import { onEveryEngineInLongRuns } from '../support/engines.ts'
import { type MailPlace, openMailPlace } from '../support/mail-place.ts'
import { MAIL_PASSWORD, MAIL_USER, startSmtpServer } from '../support/smtp-server.ts'
import { until } from '../support/until.ts'

const MINUTE = 60_000

onEveryEngineInLongRuns('delivery of mail', (at) => {
  let place: MailPlace
  before(async () => {
    place = await openMailPlace(at(), { flags: { '--mail-rate': '22' } })
  })
  after(() => place.close())
  afterEach(() => {
    place.smtp.answer = undefined
    place.smtp.hold = undefined
    // What is counted by the minute, hour or day begins anew.
    place.clock.advance(24 * 60 * MINUTE)
  })

  let count = 0
  async function invite(expiresIn?: number): Promise<string> {
    const email = `new-${++count}@example.com`
    const body = { username: `new-${count}`, email, send: true, ...(expiresIn && { expires_in: expiresIn }) }
    assert.equal((await place.admin('POST', '/admin/links', body)).status, 201)
    return email
  }

  async function findMail(to: string) {
    const { body } = await place.admin('GET', '/admin/mail')
    return body.items?.find((mail) => mail.to === to) ?? {}
  }

  const minutesUntilNext = (mail: Record<string, unknown>) =>
    Math.round((Date.parse(String(mail.next_at)) - place.clock()) / MINUTE)

  test('a 4yz is tried again after 1, 5, 15 and 60 minutes, then hourly, for a day', async () => {
    place.smtp.answer = () => ({ code: 451, text: 'try later' })
    const to = await invite()
    const waits: number[] = []
    for (let attempts = 1; attempts <= 6; attempts++) {
      await until(`attempt ${attempts} fails`, 2_000, async () => (await findMail(to)).attempts === attempts)
      await place.settled()
      const mail = await findMail(to)
      assert.match(String(mail.error), /451.*try later/)
      waits.push(minutesUntilNext(mail))
      place.clock.advance((waits.at(-1) ?? 0) * MINUTE)
    }
    assert.deepEqual(waits, [1, 5, 15, 60, 60, 60])
    place.smtp.answer = undefined
    await place.mailTo(to)
    assert.equal((await findMail(to)).state, 'sent')
  })

  test('it is given up with its link, or after a day', async () => {
    place.smtp.answer = () => ({ code: 451, text: 'try later' })
    const to = await invite(120)
    await until('the first attempt fails', 2_000, async () => (await findMail(to)).attempts === 1)
    await place.settled()
    place.clock.advance(MINUTE)
    await until('it is given up', 2_000, async () => (await findMail(to)).state === 'failed')
    assert.equal((await findMail(to)).attempts, 2)
  })

  test('a 5yz to the recipient ends it', async () => {
    place.smtp.answer = () => ({ code: 550, text: 'no such mailbox' })
    const to = await invite()
    await until('it ends', 2_000, async () => (await findMail(to)).state === 'failed')
    const { error, attempts, next_at: next } = await findMail(to)
    assert.match(String(error), /no such mailbox/)
    assert.deepEqual([attempts, next], [1, null])
  })

  test('while the server takes its time the mail is leased: it arrives once', async () => {
    const held = Promise.withResolvers<void>()
    place.smtp.hold = () => held.promise
    place.smtp.commands.length = 0
    const to = await invite()
    await until('the server has the mail', 2_000, () => place.smtp.commands.includes('RCPT'))
    const { id } = await findMail(to)
    assert.equal((await place.admin('DELETE', `/admin/mail/${id}`)).status, 409)
    // Three polls later.
    await new Promise((resolve) => setTimeout(resolve, 1_600))
    held.resolve()
    await place.mailTo(to)
    await place.settled()
    assert.deepEqual(place.unread(), [])
  })

  test('operators retry and remove what waits', async () => {
    place.smtp.answer = () => ({ code: 451, text: 'try later' })
    const [one, two] = [await invite(), await invite()]
    await until(
      'both wait',
      2_000,
      async () => (await findMail(one)).attempts === 1 && (await findMail(two)).attempts === 1,
    )
    await place.settled()
    place.smtp.answer = undefined
    assert.equal((await place.admin('DELETE', `/admin/mail/${(await findMail(two)).id}`)).status, 204)
    assert.equal((await place.admin('POST', `/admin/mail/${(await findMail(one)).id}/retry`)).status, 204)
    await place.mailTo(one)
    assert.equal((await findMail(two)).state, 'removed')
  })

  test('a mailbox gets 5 mails an hour and 20 a day of what anybody can ask for; notices are counted apart', async () => {
    let network = 0
    const flood = async (times: number) => {
      for (let index = 0; index < times; index++) {
        const page = await place.forgot('alice', { 'x-forwarded-for': `10.9.0.${++network}` })
        assert.match(page.body, /Check your mail/)
      }
      await place.settled()
      const got = place.smtp.mails.filter(({ to }) => to.includes('alice@example.com')).length
      place.smtp.mails.length = 0
      return got
    }
    assert.equal(await flood(8), 5)
    await place.admin('PUT', '/admin/users/alice/password', { password: 'another long password' })
    await place.mailTo('alice@example.com')
    const perHour: number[] = []
    for (let hour = 1; hour <= 4; hour++) {
      place.clock.advance(61 * MINUTE)
      perHour.push(await flood(6))
    }
    assert.deepEqual(perHour, [5, 5, 5, 0])
  })

  test('a client address asks for 20 mails an hour; more get the same page', async () => {
    const before = await waitingOrEnded()
    const pages = await Promise.all(
      Array.from({ length: 22 }, (_, index) => place.forgot(`nobody-${index}`, { 'x-forwarded-for': '10.8.0.1' })),
    )
    assert.ok(pages.every(({ status, body }) => status === 200 && /Check your mail/.test(body)))
    assert.equal((await waitingOrEnded()) - before, 20)
    await place.settled()
  })

  test('mail_rate: what operators send waits its turn, what anybody asks for beyond it is not queued', async () => {
    for (let index = 0; index < 24; index++) await invite()
    await until('the rate is reached', 6_000, () => place.smtp.mails.length >= 22)
    await new Promise((resolve) => setTimeout(resolve, 1_000))
    assert.equal(place.smtp.mails.length, 22)
    place.clock.advance(MINUTE + 1)
    await until('the rest follows', 4_000, () => place.smtp.mails.length === 24)
    place.smtp.mails.length = 0
    const before = await waitingOrEnded()
    for (let index = 0; index < 24; index++)
      await place.forgot(`nobody-${index}`, { 'x-forwarded-for': `10.7.0.${index}` })
    assert.equal((await waitingOrEnded()) - before, 22)
    await place.settled()
  })

  async function waitingOrEnded(): Promise<number> {
    const { count } = await place.database.db
      .selectFrom('mail_queue')
      .select((eb) => eb.fn.countAll<number>().as('count'))
      .executeTakeFirstOrThrow()
    return Number(count)
  }

  test('a test mail says what the server says; metrics count', async () => {
    assert.equal((await place.admin('POST', '/admin/mail/test', { to: 'ops@example.com' })).status, 204)
    assert.match((await place.mailTo('ops@example.com')).text, /to test its mail server/)
    place.smtp.answer = () => ({ code: 550, text: 'go away' })
    const { status, body } = await place.admin('POST', '/admin/mail/test', { to: 'ops@example.com' })
    assert.equal(status, 502)
    assert.match(String(body.detail), /go away/)
    assert.equal((await place.admin('POST', '/admin/mail/test', { to: 'a@b, c@d' })).status, 422)
  })
})

const FROM = { name: 'Gate', address: 'gate@example.com' }
const MESSAGE = { to: 'a@example.com', subject: 'S', text: 'T', html: undefined, id: 'id', language: 'en' }

test('without STARTTLS nothing is sent: no password, no address, no mail', async (t) => {
  const smtp = await startSmtpServer({ tls: 'none' })
  t.after(() => smtp.close())
  const server = { host: '127.0.0.1', port: smtp.port, isTls: false }
  for (const [isLoopback, user] of [
    [true, MAIL_USER],
    [false, MAIL_USER],
    [false, ''],
  ] as const) {
    const transport = createTransport({ ...server, isLoopback, user }, () => MAIL_PASSWORD, FROM)
    await assert.rejects(transport.send(MESSAGE), NotSent)
    await assert.rejects(transport.verify(), NotSent)
  }
  assert.deepEqual(smtp.commands, [])
  assert.deepEqual(smtp.mails, [])
})

test('a certificate that is not trusted, or is for another host, gets nothing either', async (t) => {
  const smtp = await startSmtpServer({ certificate: createCertificate(['mail.example.com']), tls: 'implicit' })
  t.after(() => smtp.close())
  const server = { host: '127.0.0.1', port: smtp.port, isTls: true, isLoopback: true, user: MAIL_USER }
  await assert.rejects(
    createTransport(server, () => MAIL_PASSWORD, FROM).send(MESSAGE),
    ({ isFinal }: NotSent) => !isFinal,
  )
  assert.deepEqual(smtp.commands, [])
})

test('over smtps, and without TLS or password to loopback only, mail is sent; a wrong password is no fault of the mail', async (t) => {
  const secure = await startSmtpServer({ tls: 'implicit' })
  const plain = await startSmtpServer({ tls: 'none', auth: false })
  t.after(() => Promise.all([secure.close(), plain.close()]))
  const local = { host: '127.0.0.1', isLoopback: true }
  const tls = { ...local, port: secure.port, isTls: true, user: MAIL_USER }
  await createTransport(tls, () => MAIL_PASSWORD, FROM).send(MESSAGE)
  await createTransport({ ...local, port: plain.port, isTls: false, user: '' }, () => '', FROM).send(MESSAGE)
  assert.deepEqual([secure.mails[0]?.isSecure, plain.mails[0]?.isSecure], [true, false])
  await assert.rejects(
    createTransport(tls, () => 'wrong', FROM).send(MESSAGE),
    ({ isFinal, message }: NotSent) => !isFinal && !message.includes('wrong password of'),
  )
})

test('a server that offers no authentication gets no mail where a user is set', async (t) => {
  const smtp = await startSmtpServer({ tls: 'implicit', auth: false })
  t.after(() => smtp.close())
  const server = { host: '127.0.0.1', port: smtp.port, isTls: true, isLoopback: true, user: MAIL_USER }
  await assert.rejects(createTransport(server, () => MAIL_PASSWORD, FROM).send(MESSAGE), NotSent)
  assert.deepEqual(smtp.mails, [])
})
