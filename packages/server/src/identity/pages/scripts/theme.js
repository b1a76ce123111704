// Sets the theme that was chosen in the console. Loaded before the body, so that no page is painted in the other one.
const chosen = localStorage.getItem('gatehouse:theme')
if (chosen === 'light' || chosen === 'dark') document.documentElement.dataset.theme = chosen
