/** Sets the theme before the first paint. A separate script, because the page may paint before a module runs. */
const chosen = localStorage.getItem('gatehouse:theme')
if (chosen === 'light' || chosen === 'dark') document.documentElement.dataset.theme = chosen
