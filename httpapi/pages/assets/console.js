// The console shows operators the sale and the service: an overview, and pages to look things up and to change them.

import { key, nameRequests } from "./api.js";
import { counterPage } from "./console/after_sale.js";
import { auditPage } from "./console/audit.js";
import { bookingPage, bookingsPage } from "./console/bookings.js";
import { eventPage } from "./console/event.js";
import { lockPage, locksPage } from "./console/locks.js";
import { newEventPage } from "./console/event_new.js";
import { refreshHealth, showEvents } from "./console/overview.js";
import { paymentPage, refundsPage } from "./console/payments.js";
import { editPlanPage, newPlanPage } from "./console/plan_editor.js";
import { planPage, plansPage } from "./console/plans.js";
import { reportPage } from "./console/report.js";
import { startRouter } from "./console/router.js";
import { searchPage } from "./console/search.js";
import { holderPage, userPage } from "./console/users.js";
import { waitlistPage } from "./console/waitlist.js";
import { webhookPage, webhooksPage } from "./console/webhooks.js";
import { byID } from "./dom.js";

nameRequests("console");

const showForget = () => { byID("forget-key").hidden = key.get() === ""; };
showForget();
key.onEntered(showForget);
byID("forget-key").addEventListener("click", () => {
  key.forget();
  location.reload();
});

startRouter({
  "search": searchPage,
  "events/:id": eventPage,
  "counter/:id": counterPage,
  "reports/:id": reportPage,
  "waitlist/:id": waitlistPage,
  "new-event": newEventPage,
  "bookings": bookingsPage,
  "bookings/:id": bookingPage,
  "locks": locksPage,
  "locks/:id": lockPage,
  "users/:id": userPage,
  "holders": holderPage,
  "refunds": refundsPage,
  "payments/:id": paymentPage,
  "plans": plansPage,
  "plans/:id": planPage,
  "new-plan": newPlanPage,
  "edit-plan/:id": editPlanPage,
  "webhooks": webhooksPage,
  "webhooks/:id": webhookPage,
  "audit": auditPage,
}, (query) => {
  showEvents(query);
  refreshHealth();
});
