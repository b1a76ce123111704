// Buttons that need a script, and are hidden without it: show a password, copy a list, print the page.
for (const button of document.querySelectorAll('[data-shows]')) {
  const field = document.getElementById(button.dataset.shows)
  button.hidden = false
  button.addEventListener('click', () => {
    const shows = field.type === 'password'
    field.type = shows ? 'text' : 'password'
    button.setAttribute('aria-pressed', String(shows))
    field.focus()
  })
  // Browsers offer to remember and to complete what was typed into a text field.
  field.form.addEventListener('submit', () => {
    field.type = 'password'
  })
}

for (const button of document.querySelectorAll('[data-copies]')) {
  if (navigator.clipboard === undefined) continue
  const label = button.textContent
  button.hidden = false
  button.addEventListener('click', async () => {
    const lines = [...document.querySelectorAll(`#${button.dataset.copies} code`)].map(({ textContent }) => textContent)
    await navigator.clipboard.writeText(`${lines.join('\n')}\n`)
    button.textContent = button.dataset.done
    document.getElementById('copied').textContent = button.dataset.done
    setTimeout(() => {
      button.textContent = label
      document.getElementById('copied').textContent = ''
    }, 3000)
  })
}

for (const button of document.querySelectorAll('[data-prints]')) {
  button.hidden = false
  button.addEventListener('click', () => print())
}
