/** npm `passport-openidconnect`, which many Node applications use for the code flow. */
import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import express from 'express'
import session from 'express-session'
import passport from 'passport'
import Strategy from 'passport-openidconnect'
import { type OpenGatehouse, openGatehouse, SECRET } from './gatehouse.ts'
import { type Application, createVisitor, openApplication } from './visit-application.ts'

describe('passport-openidconnect', () => {
  let gatehouse: OpenGatehouse
  let application: Application
  before(async () => {
    application = await openApplication()
    gatehouse = await openGatehouse([
      {
        client_id: 'passport',
        client_name: 'Passport',
        client_secret: SECRET,
        redirect_uris: [`${application.origin}/callback`],
        scope: 'openid profile email',
      },
    ])
    const people = new passport.Passport()
    people.use(
      new Strategy(
        {
          issuer: gatehouse.issuer,
          authorizationURL: gatehouse.metadata.authorization_endpoint,
          tokenURL: gatehouse.metadata.token_endpoint,
          userInfoURL: gatehouse.metadata.userinfo_endpoint,
          clientID: 'passport',
          clientSecret: SECRET,
          callbackURL: `${application.origin}/callback`,
          scope: 'profile email',
          skipUserProfile: false,
        },
        (_issuer, profile, done) => done(null, profile),
      ),
    )
    people.serializeUser((user, done) => done(null, user))
    people.deserializeUser((user, done) => done(null, user))
    const app = express()
    app.use(session({ secret: 'a key of the application', resave: false, saveUninitialized: false }))
    app.use(people.initialize(), people.session())
    app.get('/login', people.authenticate('openidconnect'))
    app.get('/callback', people.authenticate('openidconnect'), (_request, response) => response.redirect('/'))
    app.get('/', (request, response) => response.json({ user: request.user ?? null }))
    app.use((error, _request, response, _next) => response.status(500).json({ error: error.message }))
    application.answerWith(app)
  })
  after(async () => {
    await application.stop()
    await gatehouse.close()
  })

  test('sign-in with the code flow and userinfo', async () => {
    const { body, status } = await createVisitor(application, gatehouse.issuer).open('/login')
    assert.equal(status, 200, body)
    assert.partialDeepStrictEqual(JSON.parse(body), {
      user: { displayName: 'Alice Liddell', emails: [{ value: 'alice@example.com' }] },
    })
  })
})
