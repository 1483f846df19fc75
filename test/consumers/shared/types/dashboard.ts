export * from 'nestjs-fenced-lock/dashboard';
