/** npm `express-openid-connect`: sign-in by form_post in the hybrid flow, sign-out, and back-channel logout. */
import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import express from 'express'
import { auth } from 'express-openid-connect'
import session from 'express-session'
import { type OpenGatehouse, openGatehouse, SECRET } from './gatehouse.ts'
import { type Application, createVisitor, openApplication } from './visit-application.ts'

describe('express-openid-connect', () => {
  let gatehouse: OpenGatehouse
  let application: Application
  before(async () => {
    application = await openApplication()
    gatehouse = await openGatehouse([
      {
        client_id: 'express',
        client_name: 'Express',
        client_secret: SECRET,
        redirect_uris: [`${application.origin}/callback`],
        post_logout_redirect_uris: [application.origin],
        grant_types: ['authorization_code', 'implicit'],
        response_types: ['code', 'id_token', 'code id_token'],
        scope: 'openid profile email',
        backchannel_logout_uri: `${application.origin}/backchannel-logout`,
        backchannel_logout_session_required: true,
      },
    ])
    const app = express()
    app.use(
      auth({
        issuerBaseURL: gatehouse.issuer,
        baseURL: application.origin,
        clientID: 'express',
        clientSecret: SECRET,
        secret: 'a key that seals the cookies of the application',
        authRequired: false,
        idpLogout: true,
        authorizationParams: { response_type: 'code id_token', response_mode: 'form_post', scope: 'openid email' },
        backchannelLogout: { store: new session.MemoryStore() },
      }),
    )
    app.get('/', (request, response) => response.json({ user: request.oidc?.isAuthenticated() ? {} : null }))
    app.get('/profile', (request, response, next) => {
      request.oidc?.fetchUserInfo().then((user) => response.json({ user }), next)
    })
    application.answerWith(app)
  })
  after(async () => {
    await application.stop()
    await gatehouse.close()
  })

  test('form_post sign-in, and sign-out that returns to the application', async () => {
    const visitor = createVisitor(application, gatehouse.issuer)
    assert.deepEqual(await readUser(visitor.open('/')), null)
    assert.ok(await readUser(visitor.open('/login')))
    assert.equal((await readUser(visitor.open('/profile')))?.email, 'alice@example.com')
    const end = await visitor.open('/logout')
    assert.equal(end.url.href, `${application.origin}/`)
    assert.equal(await readUser(visitor.open('/')), null)
  })

  test('a sign-out at the provider ends the session by back-channel logout', async () => {
    const visitor = createVisitor(application, gatehouse.issuer)
    assert.ok(await readUser(visitor.open('/login')))
    const page = await visitor.atProvider.get(gatehouse.metadata.end_session_endpoint)
    assert.ok(page.kind === 'page' && page.forms[0])
    await visitor.atProvider.submit(page.forms[0])
    for (let tries = 0; tries < 20 && (await readUser(visitor.open('/'))) !== null; tries++)
      await new Promise((resolve) => setTimeout(resolve, 50))
    assert.equal(await readUser(visitor.open('/')), null)
  })
})

async function readUser(page: Promise<{ body: string; status: number }>): Promise<Record<string, unknown> | null> {
  const { body, status } = await page
  assert.equal(status, 200, body)
  return (JSON.parse(body) as { user: Record<string, unknown> | null }).user
}
