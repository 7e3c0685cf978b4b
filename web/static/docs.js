// The API reference: Swagger UI over the embedded document.
"use strict";

const place = document.getElementById("reference");
const live = place.dataset.live === "true"; // the operator allows live keys
const ui = SwaggerUIBundle({
  url: place.dataset.document,
  domNode: place,
  deepLinking: true,
  docExpansion: "list",
  defaultModelsExpandDepth: 0,
  filter: true,
  tryItOutEnabled: true,
  validatorUrl: "none",
  persistAuthorization: false, // keys stay in the memory of the page
  syntaxHighlight: false, // its colours lack contrast
  requestInterceptor(request) {
    // The document names the service's own address. This page may have been
    // opened under another name of the service.
    const target = new URL(request.url, location.href);
    if (target.pathname.startsWith("/api/")) request.url = location.origin + target.pathname + target.search;
    const key = (request.headers.Authorization || "").replace(/^Bearer /, "") || request.headers["x-api-key"];
    const allowed = !key || /^g(ds|ov)_test_/.test(key) || live && new URL(request.url, location.href).origin === location.origin;
    document.getElementById("refused").hidden = allowed;
    if (!allowed) { // the service answers that the key is missing
      delete request.headers.Authorization;
      delete request.headers["x-api-key"];
    }
    return request;
  },
  onComplete() {
    if (place.dataset.key) ui.preauthorizeApiKey("bearer", place.dataset.key);
  },
});

// A page that the browser keeps after leaving it must not keep a key.
addEventListener("pagehide", () => {
  ui.authActions.logout(["bearer"]);
  place.replaceChildren();
});
addEventListener("pageshow", (event) => {
  if (event.persisted) location.reload();
});
