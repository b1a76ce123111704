/** The first page: what this user can do here. */
import { may, rights, user } from '../gate.ts'
import { server } from '../server.ts'
import { Facts, Icon, Notice, Page, Section } from '../ui/index.ts'
import { RightList } from '../ui/rights.tsx'
import { word } from '../ui/word.ts'
import type { Area } from './area.ts'
import { FirstSteps } from './first-steps.tsx'
import { LivePrices } from './live-prices.tsx'
import { RecentWork } from './recent-work.tsx'
import { href } from './router.ts'

export function Start({ areas }: { readonly areas: readonly Area[] }) {
  const { name, preferred_username: username } = user.value ?? {}
  const held = [...rights.value].filter((right) => right.includes('/')).sort()
  return (
    <Page title="Start">
      <div class="start">
        <p class="start-greeting">Hello, {name ?? username ?? 'there'}.</p>
        {server.demo && (
          <Notice>This is the demonstration: its users have known passwords, and its prices are invented.</Notice>
        )}
        {hasPrices() && <LivePrices />}
        <FirstSteps>
          <ul class="cards">
            {areas.map((area) => (
              <li key={area.name}>
                <a class="card" href={href(area.name)}>
                  <Icon name={area.icon} />
                  <strong>{area.title}</strong>
                  <span>{area.about}</span>
                </a>
              </li>
            ))}
          </ul>
          <RecentWork />
          <Section title="You">
            <Facts
              of={[
                [word('Username'), username ?? '–'],
                [
                  word('Rights'),
                  held.length === 0 ? (
                    <span>None. An administrator can give you a role.</span>
                  ) : (
                    <RightList of={held} />
                  ),
                ],
                [word('Account'), <a href={`${server.base}/account`}>Password, passkeys, sessions and applications</a>],
              ]}
            />
          </Section>
          <Section title="This server">
            <Facts
              of={[
                [word('Issuer'), <code>{server.issuer}</code>],
                [word('Version'), server.version],
                [word('Services'), server.services.join(', ')],
                [
                  'For programs',
                  <span class="links">
                    <a href={`${server.base}/.well-known/openid-configuration`}>Discovery</a>
                    <a href={`${server.base}/openapi.json`}>OpenAPI</a>
                    <a href={`${server.base}/docs`}>Documentation</a>
                  </span>,
                ],
              ]}
            />
          </Section>
        </FirstSteps>
      </div>
    </Page>
  )
}

function hasPrices(): boolean {
  return server.demo && may('Platform/') && ['query', 'streaming'].every((name) => server.services.includes(name))
}
